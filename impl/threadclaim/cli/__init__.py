"""What operators run: `threadclaim COMMAND`. A module for each command, which adds itself and is run.

`main` reads the command line and says what went wrong, in a sentence; `databases` opens what a DSN names;
`report` is what a command came to, and `tables` how people read it.
"""
