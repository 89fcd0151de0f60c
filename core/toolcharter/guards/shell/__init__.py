"""What a shell line would run. Not understood means not run; not known means not covered."""
