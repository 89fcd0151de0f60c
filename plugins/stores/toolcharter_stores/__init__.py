"""What all stores share: encryption of secret fields, the SQL engine, archives, and the commands `toolcharter store`."""
