//! Why a command line is not known to be read-only, and what is allowed instead.

/// The first reason found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::guard) enum WriteReason {
    /// The line cannot be parsed, or is nested too deep.
    Unreadable,
    Construct(&'static str),
    /// A redirection that may write.
    Redirection(String),
    /// A variable that may select the program that runs.
    Variable(String),
    ComputedName,
    /// A program given by its path, which may be a file of the project.
    File(String),
    /// A shell that runs a script from outside the line.
    Script(String),
    /// A program that is not on the list.
    Program(String),
    /// A program that is otherwise read-only, and its option, argument or subcommand that is not.
    Argument(String, String),
    /// A program, and a computed word that may become an option.
    Computed(String, String),
}

impl WriteReason {
    /// The message to the model: what was found, and what to write instead.
    pub(in crate::guard) fn says(&self) -> String {
        match self {
            WriteReason::Unreadable => {
                "this line cannot be read; write one plain command".to_owned()
            }
            WriteReason::Construct(what) => {
                format!("{what} is not let through; write plain commands, joined by `&&` or `|`")
            }
            WriteReason::Redirection(what) => format!(
                "the redirection `{what}` may write; only `/dev/null` may be written to, and \
                 `2>&1` is allowed"
            ),
            WriteReason::Variable(name) => {
                format!("setting `{name}` may choose which program runs; leave it out")
            }
            WriteReason::ComputedName => {
                "the name of the program is computed; write it out".to_owned()
            }
            WriteReason::File(name) => format!(
                "`{name}` is run by its path, and what a file does is not known; read it with `cat`"
            ),
            WriteReason::Script(name) => format!(
                "`{name}` runs a script that does not stand in the line; only `{name} -c '…'` is \
                 allowed, with commands that read"
            ),
            WriteReason::Program(name) => format!(
                "`{name}` is not on the list of programs that only read; use `cat`, `grep`, `rg`, \
                 `ls`, `find`, `head`, `wc`, `jq` or `git log|diff|show|status`"
            ),
            WriteReason::Argument(name, word) => {
                format!("`{name}` with `{word}` is not known to read only; leave it out")
            }
            WriteReason::Computed(name, word) => format!(
                "`{word}` could become an option of `{name}`; write it out, or put `--` or `./` \
                 before it"
            ),
        }
    }
}
