"""What a shell line would run. Not understood means not run."""
