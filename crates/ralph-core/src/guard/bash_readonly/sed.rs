//! Recognises a `sed` that only prints.
//!
//! A script can write files and run commands, so it is split into addresses and into commands that
//! do neither. With `--sandbox`, `sed` itself refuses the others.

use super::WriteReason;
use super::words::WordText;
use std::iter::Peekable;
use std::str::Chars;

pub(super) fn only_reads(arguments: &[WordText]) -> Result<(), WriteReason> {
    let (mut scripts, mut operands) = (Vec::new(), Vec::new());
    let mut in_sandbox = false;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(option) = word.text.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            operands.push(word);
            continue;
        };
        match option {
            "-" => {
                operands.extend(rest);
                break;
            }
            "-quiet" | "-silent" | "-regexp-extended" | "-null-data" | "-separate" | "-posix"
            | "-unbuffered" => {}
            "-sandbox" => in_sandbox = true,
            _ if option.starts_with("-expression=") => {
                scripts.push(WordText {
                    text: option["-expression=".len()..].to_owned(),
                    ..word.clone()
                });
            }
            _ if option.bytes().all(|letter| b"nErsuz".contains(&letter)) => {}
            _ if option.ends_with('e')
                && option[..option.len() - 1].bytes().all(|letter| b"nErsuz".contains(&letter)) =>
            {
                scripts.extend(rest.next().cloned());
            }
            _ => return Err(WriteReason::Argument("sed".to_owned(), word.shown())),
        }
    }
    // Before `--`, a word that begins with a computed part may be an option.
    let ended = arguments.iter().position(|word| word.literal() == Some("--"));
    let before = &arguments[..ended.unwrap_or(arguments.len())];
    let loose = |word: &&WordText| word.literal().is_none() && !word.is_operand();
    if let Some(word) = before.iter().find(loose) {
        return Err(WriteReason::Computed("sed".to_owned(), word.shown()));
    }
    if scripts.is_empty() {
        scripts.extend(operands.first().map(|word| (*word).clone()));
    }
    for script in scripts {
        let plain = script.literal().is_some_and(only_prints);
        let harmless = plain || in_sandbox && !script.many;
        if !harmless {
            return Err(WriteReason::Argument("sed".to_owned(), script.shown()));
        }
    }
    Ok(())
}

/// True for a script of addresses, `p`, `d`, `q`, `s/…/…/` and the like.
fn only_prints(script: &str) -> bool {
    let mut letters = script.chars().peekable();
    while letters.peek().is_some() {
        if statement(&mut letters).is_none() {
            return false;
        }
    }
    true
}

fn statement(letters: &mut Peekable<Chars<'_>>) -> Option<()> {
    skip(letters, " \t\n;");
    while let Some(&letter) = letters.peek() {
        match letter {
            '0'..='9' | '$' | ',' | '!' | ' ' | '~' | '+' => drop(letters.next()),
            '/' => {
                letters.next();
                up_to('/', letters)?;
                skip(letters, "I");
            }
            _ => break,
        }
    }
    match letters.next() {
        None | Some('{' | '}') => Some(()),
        Some('p' | 'd' | 'l' | '=' | 'n' | 'N' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x') => {
            end(letters)
        }
        Some('q' | 'Q') => {
            skip(letters, " 0123456789");
            end(letters)
        }
        // Text up to the end of the script; a second line is refused, because it could hold a
        // command.
        Some('a' | 'i' | 'c') => letters.all(|letter| letter != '\n').then_some(()),
        Some(':' | 'b' | 't' | 'T') => {
            skip(letters, " ");
            while letters.next_if(|l| l.is_ascii_alphanumeric() || *l == '_').is_some() {}
            end(letters)
        }
        Some(command @ ('s' | 'y')) => {
            let delimiter =
                letters.next().filter(char::is_ascii_punctuation).filter(|l| *l != '\\')?;
            up_to(delimiter, letters)?;
            up_to(delimiter, letters)?;
            skip(letters, if command == 's' { "gpiI0123456789" } else { "" });
            end(letters)
        }
        Some(_) => None,
    }
}

/// A statement ends at a separator, or at the end of the script or of its block.
fn end(letters: &mut Peekable<Chars<'_>>) -> Option<()> {
    skip(letters, " \t");
    matches!(letters.peek(), None | Some(';' | '\n' | '}')).then_some(())
}

fn skip(letters: &mut Peekable<Chars<'_>>, these: &str) {
    while letters.next_if(|letter| these.contains(*letter)).is_some() {}
}

/// Skips past the delimiter. Inside brackets some `sed`s take the delimiter as the end and others
/// do not, so brackets may contain neither it nor anything that leaves their own end uncertain.
fn up_to(delimiter: char, letters: &mut Peekable<Chars<'_>>) -> Option<()> {
    loop {
        match letters.next()? {
            letter if letter == delimiter => return Some(()),
            '\\' => drop(letters.next()?),
            '\n' => return None,
            '[' => {
                skip(letters, "^");
                let first =
                    letters.next_if(|first| !"[]\n".contains(*first) && *first != delimiter)?;
                if first == '\\' {
                    letters.next_if(|next| next.is_ascii_alphanumeric() && *next != 'c')?;
                }
                loop {
                    match letters
                        .next()
                        .filter(|next| !"[\n".contains(*next) && *next != delimiter)?
                    {
                        ']' => break,
                        // `[ \t]`: one character or two, but never the end.
                        '\\' => drop(
                            letters.next_if(|next| next.is_ascii_alphanumeric() && *next != 'c')?,
                        ),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}
