"""What several tools need to be safe: paths, shell, network, secrets, output, process."""
