//! Writes HTML. What is not a name of ours is escaped as it is written: there is no way to write it otherwise.

/// A document, or a part of one.
#[derive(Debug, Default)]
pub(super) struct Markup {
    text: String,
}

/// Names are ours; values are escaped.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Markup {
    /// An element with what is in it.
    pub(super) fn within(
        &mut self,
        name: &'static str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Markup),
    ) {
        self.open(name, attributes);
        inside(self);
        self.text.push_str("</");
        self.text.push_str(name);
        self.text.push('>');
    }

    /// An element of a class, with a text in it.
    pub(super) fn put(&mut self, name: &'static str, class: &str, text: &str) {
        let attributes = [("class", class)];
        let attributes = if class.is_empty() { &[][..] } else { &attributes };
        self.within(name, attributes, |inside| inside.words(text));
    }

    /// An element that has no end.
    pub(super) fn open(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.text.push('<');
        self.text.push_str(name);
        for (name, value) in attributes {
            self.text.push(' ');
            self.text.push_str(name);
            self.text.push_str("=\"");
            self.words(value);
            self.text.push('"');
        }
        self.text.push('>');
    }

    /// A text.
    pub(super) fn words(&mut self, text: &str) {
        for letter in text.chars() {
            match letter {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '\'' => self.text.push_str("&#39;"),
                letter => self.text.push(letter),
            }
        }
    }

    /// A text in which what stands between backticks is code.
    pub(super) fn with_code(&mut self, text: &str) {
        for (at, part) in text.split('`').enumerate() {
            match at % 2 {
                0 => self.words(part),
                _ => self.put("code", "", part),
            }
        }
    }

    /// What is ours as it stands here.
    pub(super) fn ours(&mut self, text: &'static str) {
        self.text.push_str(text);
    }

    /// The document.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_given_becomes_markup() {
        let mut page = Markup::default();
        let evil = "\"'><script>&amp;";
        page.within("p", &[("title", evil)], |inside| inside.with_code(&format!("{evil}`{evil}")));
        assert_eq!(
            page.finish(),
            "<p title=\"&quot;&#39;&gt;&lt;script&gt;&amp;amp;\">\
             &quot;&#39;&gt;&lt;script&gt;&amp;amp;\
             <code>&quot;&#39;&gt;&lt;script&gt;&amp;amp;</code></p>"
        );
    }
}
