//! What to do with a plan that was edited while a round wrote to it.
//!
//! The decision compares three texts: the plan as the round found it, the plan as the round made
//! it, and the plan at the end of the round. A user's edit always stays; the round's text is then
//! kept beside it.

/// What to do with the plan that a round made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meanwhile {
    /// No one else edited the plan: the round's plan becomes the plan. If the round wrote to the
    /// plan's own file, it is already there.
    Take {
        /// True if the plan still has to be written.
        write: bool,
    },
    /// Someone else edited the plan: their version stays.
    Keep {
        /// True if the round also changed the plan, so that its version exists only in its own
        /// text.
        aside: bool,
    },
}

/// Compares the three texts.
pub fn meanwhile(found: &str, made: &str, now: &str) -> Meanwhile {
    if now == made {
        Meanwhile::Take { write: false }
    } else if now == found {
        Meanwhile::Take { write: true }
    } else {
        Meanwhile::Keep { aside: made != found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: &str, made: &str, now: &str, expected: Meanwhile) {
        assert_eq!(meanwhile(found, made, now), expected, "{found} {made} {now}");
    }

    #[test]
    fn what_somebody_else_wrote_always_stands() {
        check("a", "b", "a", Meanwhile::Take { write: true });
        check("a", "b", "b", Meanwhile::Take { write: false });
        check("a", "a", "a", Meanwhile::Take { write: false });
        check("a", "b", "c", Meanwhile::Keep { aside: true });
        check("a", "a", "c", Meanwhile::Keep { aside: false });
        // Emptying the plan is an edit too.
        check("a", "b", "", Meanwhile::Keep { aside: true });
    }
}
