//! The requests that the user types into the session: `/ralph-cancel`, `/ralph status`, or
//! `ralph pause` as a prompt.

use crate::transcript::cutoff;

/// A typed line that asks for something other than a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypedRequest {
    Cancel,
    Pause,
    Resume,
    Trust,
    Share,
    /// With the text behind the word: [`steer`].
    Steer,
    Status,
    Accept,
    Help,
}

/// The text of `/ralph steer TEXT`, from the command's arguments.
pub fn steer(arguments: &str) -> &str {
    arguments.trim().strip_prefix("steer").unwrap_or_default().trim().trim_matches('"')
}

impl TypedRequest {
    /// Reads a whole line, as the client puts it into its queue.
    pub fn of_line(line: &str) -> Option<TypedRequest> {
        let line = line.trim();
        match line {
            "ralph cancel" => return Some(TypedRequest::Cancel),
            "ralph pause" => return Some(TypedRequest::Pause),
            _ => {}
        }
        let command = line.strip_prefix('/')?;
        let (name, arguments) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        TypedRequest::of_command(name, arguments)
    }

    /// Reads a slash command, with or without the plugin's prefix. A word counts only if it is the
    /// whole argument: `/ralph "help"` is a task. `steer` takes the rest as its text.
    pub fn of_command(name: &str, arguments: &str) -> Option<TypedRequest> {
        match (cutoff::without_prefix(name), arguments.trim()) {
            ("ralph-cancel", _) | ("ralph", "cancel" | "stop") => Some(TypedRequest::Cancel),
            ("ralph-pause", _) | ("ralph", "pause") => Some(TypedRequest::Pause),
            ("ralph", "resume") => Some(TypedRequest::Resume),
            ("ralph", "trust") => Some(TypedRequest::Trust),
            ("ralph", "share") => Some(TypedRequest::Share),
            ("ralph", words) if words.split_whitespace().next() == Some("steer") => {
                Some(TypedRequest::Steer)
            }
            ("ralph", "status") => Some(TypedRequest::Status),
            ("ralph", "accept") => Some(TypedRequest::Accept),
            ("ralph", "help") => Some(TypedRequest::Help),
            _ => None,
        }
    }

    /// True if the loop's turn must end before the request can be carried out.
    pub fn needs_the_turn(self) -> bool {
        !matches!(self, TypedRequest::Status | TypedRequest::Help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_only_as_the_whole_line() {
        use TypedRequest::{Accept, Cancel, Help, Pause, Resume, Share, Status, Steer, Trust};
        for (line, expected) in [
            ("/ralph-cancel", Some(Cancel)),
            (" /ralph:ralph-cancel now\n", Some(Cancel)),
            ("/ralph  cancel ", Some(Cancel)),
            ("/ralph:ralph stop", Some(Cancel)),
            ("ralph cancel\n", Some(Cancel)),
            ("/ralph-pause", Some(Pause)),
            ("/ralph pause", Some(Pause)),
            ("ralph pause", Some(Pause)),
            ("/ralph resume", Some(Resume)),
            ("/ralph trust", Some(Trust)),
            ("/ralph share", Some(Share)),
            ("/ralph:ralph steer use tabs", Some(Steer)),
            ("/ralph steer", Some(Steer)),
            ("/ralph steering wheel", None),
            ("/ralph \"steer the ship\"", None),
            ("/ralph trust me", None),
            ("/ralph status", Some(Status)),
            ("/ralph accept", Some(Accept)),
            ("/ralph help", Some(Help)),
            ("/ralph", None),
            ("/ralph \"help\"", None),
            ("/ralph 'cancel'", None),
            ("/ralph help me", None),
            ("/ralph cancel --max-iterations 3", None),
            ("/other:ralph-cancel", None),
            ("/ralplan cancel", None),
            ("please ralph cancel", None),
            ("Ralph Cancel", None),
            ("ralph status", None),
        ] {
            assert_eq!(TypedRequest::of_line(line), expected, "{line:?}");
        }
    }

    #[test]
    fn the_text_of_a_steer_is_what_follows_the_word() {
        for (arguments, text) in
            [("steer use tabs", "use tabs"), (" steer  \"use tabs\"\n", "use tabs"), ("steer", "")]
        {
            assert_eq!(steer(arguments), text);
        }
    }
}
