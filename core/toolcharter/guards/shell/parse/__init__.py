"""From a shell line to the commands that it runs: functions over one scanner, a module for each kind of construct."""
