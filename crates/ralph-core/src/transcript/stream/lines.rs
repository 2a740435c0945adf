//! Splits a byte stream into lines of bounded length.
//!
//! A tool result may be a line of any length. A line that is too long is skipped whole: half of it
//! would not be valid JSON.

use memchr::memchr;

/// Longer lines are skipped.
pub const LONGEST: usize = 16 << 20;

/// Buffers the start of a line until its end arrives.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
    passes_over: bool,
    n_passed_over: u64,
}

impl Lines {
    /// Feeds the next piece and passes each complete line to `hear`.
    pub fn feed(&mut self, mut piece: &[u8], hear: &mut dyn FnMut(&[u8])) {
        while let Some(end) = memchr(b'\n', piece) {
            let (rest, next) = (&piece[..end], &piece[end + 1..]);
            match self.begun.is_empty() && !self.passes_over && rest.len() <= LONGEST {
                true => hear(rest),
                false => {
                    self.begin(rest);
                    self.end(hear);
                }
            }
            piece = next;
        }
        self.begin(piece);
    }

    /// Ends the stream; the last line may lack a line feed.
    pub fn finish(&mut self, hear: &mut dyn FnMut(&[u8])) {
        if !self.begun.is_empty() || self.passes_over {
            self.end(hear);
        }
    }

    /// How many lines were skipped.
    pub fn passed_over(&self) -> u64 {
        self.n_passed_over
    }

    fn begin(&mut self, part: &[u8]) {
        self.passes_over |= self.begun.len() + part.len() > LONGEST;
        match self.passes_over {
            true => self.begun = Vec::new(),
            false => self.begun.extend_from_slice(part),
        }
    }

    fn end(&mut self, hear: &mut dyn FnMut(&[u8])) {
        match self.passes_over {
            true => self.n_passed_over += 1,
            false => hear(&self.begun),
        }
        self.begun.clear();
        self.passes_over = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&[u8]]) -> (Vec<String>, u64) {
        let mut lines = Lines::default();
        let mut heard = Vec::new();
        let mut hear = |line: &[u8]| heard.push(String::from_utf8_lossy(line).into_owned());
        pieces.iter().for_each(|piece| lines.feed(piece, &mut hear));
        lines.finish(&mut hear);
        (heard, lines.passed_over())
    }

    #[test]
    fn however_the_text_is_cut_the_lines_are_the_same() {
        let text = b"one\n\nthree\nfour";
        for size in 1..=text.len() {
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            let expected = ["one", "", "three", "four"].map(str::to_owned).to_vec();
            assert_eq!(cut(&pieces), (expected, 0), "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_is_heard() {
        let long = vec![b'x'; LONGEST];
        let (heard, passed_over) = cut(&[&long, b"x\nafter\n", &long, b"\nlast"]);
        let shown: Vec<usize> = heard.iter().map(String::len).collect();
        assert_eq!((shown, passed_over), (vec![5, LONGEST, 4], 1));
        let whole = [&long[..], b"x\nafter\n"].concat();
        assert_eq!(cut(&[&whole]), (vec!["after".to_owned()], 1));
    }
}
