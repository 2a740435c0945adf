//! A plan that somebody else edited while a round wrote on it.
//!
//! Three texts tell: the plan as the round found it, as the round made it, and as it stands when the
//! round ends. What a person wrote always stands; the round's own text is kept beside it.

/// What is to be done with the plan that a round made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meanwhile {
    /// Nobody else wrote: the round's plan becomes the plan. Where the round wrote into the plan's own
    /// file, it is there already.
    Take {
        /// True while it still has to be written.
        write: bool,
    },
    /// Somebody else wrote: that stands.
    Keep {
        /// True where the round has made something else, which is only in its own text now.
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
        // Whoever takes the plan away has edited it, too.
        check("a", "b", "", Meanwhile::Keep { aside: true });
    }
}
