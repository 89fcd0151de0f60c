"""Guards that several tools share: paths, shell lines, network, secrets, output, processes."""
