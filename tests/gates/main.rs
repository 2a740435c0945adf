//! gates
fn main() {}
