//! Nothing: the package is there for its test and its dependency tree.
