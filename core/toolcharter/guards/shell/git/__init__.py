"""Git in a workspace that anybody may have written: the settings it gets, and the repositories in which it must not run."""
