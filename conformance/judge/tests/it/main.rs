//! Tests of the judge as a library.
