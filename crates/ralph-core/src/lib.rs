//! The rules of Ralph.
