//! What the user reads of a loop whose state cannot be used, and what to type.

/// What the user reads on the screen: the cause, and what to type.
pub fn line(why: &str, home: &str) -> String {
    let repair = repair(why, home);
    format!(
        "the state of this session's loop cannot be used: {why}. The session may only read until then. \
         {repair}, then type /ralph; or type /ralph-cancel to end the loop"
    )
}

/// Why no other loop starts in such a session.
pub fn no_start(why: &str, home: &str) -> String {
    let repair = repair(why, home);
    format!(
        "the state of this session's loop cannot be used: {why}. {repair}, or end that loop first with \
         /ralph-cancel; nothing was started"
    )
}

fn repair(why: &str, home: &str) -> String {
    match () {
        () if why.contains("can be written by others") => {
            format!("Type `chmod -R go-w {}` in a terminal", quoted(home))
        }
        () if why.contains("newer Ralph") => "Update Ralph".to_owned(),
        () if why.contains("belongs to another user") => {
            format!("Give `{home}` back to your user with `chown -R`")
        }
        () => "Repair that file".to_owned(),
    }
}

/// Like [`line()`], for a step that failed although the state can be read: a full disk, or a lock
/// that is held.
pub fn failed(why: &str) -> String {
    let cause = match () {
        () if why.contains("No space left") => "Make room on the disk",
        () if why.contains("Read-only file system") => "Make the disk writable",
        () if why.contains("quota") => "Make room within the quota",
        () => "Repair that",
    };
    format!(
        "{why}. The loop was not continued, and nothing of it is lost. {cause}, then type /ralph; or type \
         /ralph-cancel to end the loop"
    )
}

/// Quotes a path for a shell.
fn quoted(path: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+,@%".contains(letter);
    match path.chars().all(is_plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_person_is_told_what_to_type() {
        let text = line("`/h/state.json` can be written by others; run", "/h o");
        assert!(
            text.contains("`chmod -R go-w '/h o'`") && text.contains("/ralph-cancel"),
            "{text}"
        );
        assert!(failed("could not write `x`: No space left on device").contains("Make room"));
    }
}
