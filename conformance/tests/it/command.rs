//! The command as a program: arguments, exit codes, what goes where.
