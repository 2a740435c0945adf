//! The command line of Ralph.

fn main() {}
