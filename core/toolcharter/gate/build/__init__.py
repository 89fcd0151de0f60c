"""From a profile to the tools of a toolbox."""
