"""Git in an untrusted workspace: the settings that git gets, and the repositories in which it must not run."""
