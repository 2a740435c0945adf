//! JSON, and JSON with comments where the tool that owns the file takes them.

use super::super::around::Around;
use super::super::forms::Form;
use super::super::{By, Parser};
use super::wanted::Wanted;

/// The names of its files.
pub(super) const NAMES: &[&str] = &["*.json", "*.jsonc"];

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> Wanted {
    let mut wanted = Wanted::new(around);
    wanted.look("json", By::Parser(Parser::Json), Form::Plain).because("it is JSON");
    wanted
}
