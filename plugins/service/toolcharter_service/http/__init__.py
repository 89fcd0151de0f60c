"""What is spoken over HTTP: the application, its problems, its routes."""
