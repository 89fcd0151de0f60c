"""What in a profile can never match or never matter: for its author, never for a call. Pure."""
