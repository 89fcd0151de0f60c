"""What the words of a command ask for, by the table of its program."""
