//! Splits the text of a file into tokens and logical lines.

/// The smallest piece of a program's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// Counted from 1.
    pub(super) line: usize,
    /// In characters, counted from 1.
    pub(super) column: usize,
    /// Where it begins in the whole text, in bytes.
    pub(super) at: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Name,
    Number,
    /// A string: a doc string, or a name in a `batt` file.
    Text,
    /// Punctuation, and any character that a program may not contain.
    Mark,
}

/// The tokens of one logical line, which continues as long as a parenthesis is open.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) tokens: Vec<Token<'a>>,
}

impl Line<'_> {
    pub(super) fn is_assignment(&self) -> bool {
        self.tokens.len() > 1
            && self.tokens[0].kind == Kind::Name
            && matches!(self.tokens[1].text, "=" | ":")
    }
}

/// The logical lines that are not empty, one after the other: the tokens of a large file take many times its size.
pub(super) fn lines(text: &str) -> Lines<'_> {
    Lines {
        scan: Scan { text, at: 0, line: 1, column: 1, column_at: 0 },
        tokens: Vec::new(),
        n_open: 0,
    }
}

pub(super) struct Lines<'a> {
    scan: Scan<'a>,
    /// The tokens of the line that is being read.
    tokens: Vec<Token<'a>>,
    n_open: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        loop {
            let token = self.scan.next();
            let ends_line = match &token {
                None => true,
                Some(Piece::NewLine) => self.n_open == 0,
                // A definition cannot be inside parentheses, so an unclosed one costs one program, not the rest of the
                // file.
                Some(Piece::Token(t)) => self.n_open > 0 && t.text == "def" && t.column == 1,
            };
            let mut line = None;
            if ends_line {
                self.n_open = 0;
                if !self.tokens.is_empty() {
                    let tokens = std::mem::take(&mut self.tokens);
                    line = Some(Line { tokens });
                }
            }
            match token {
                None => return line,
                Some(Piece::NewLine) => {}
                Some(Piece::Token(t)) => {
                    match t.text {
                        "(" => self.n_open += 1,
                        ")" => self.n_open -= usize::from(self.n_open > 0),
                        _ => {}
                    }
                    self.tokens.push(t);
                }
            }
            if line.is_some() {
                return line;
            }
        }
    }
}

enum Piece<'a> {
    Token(Token<'a>),
    NewLine,
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    /// The column of byte `column_at`, the last position whose column was needed. Counting continues from there instead
    /// of from the start of the line.
    column: usize,
    column_at: usize,
}

impl<'a> Scan<'a> {
    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            let rest = &self.text[self.at..];
            let c = rest.chars().next()?;
            match c {
                '\n' => {
                    self.at += 1;
                    self.new_line();
                    return Some(Piece::NewLine);
                }
                '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
                '\\' if rest[1..].starts_with('\n') => {
                    self.at += 2;
                    self.new_line();
                }
                c if c.is_whitespace() || c == '\u{feff}' => self.at += c.len_utf8(),
                _ => return Some(Piece::Token(self.token(c))),
            }
        }
    }

    fn new_line(&mut self) {
        self.begin_line(self.at);
    }

    fn begin_line(&mut self, at: usize) {
        self.line += 1;
        (self.column, self.column_at) = (1, at);
    }

    fn token(&mut self, first: char) -> Token<'a> {
        let rest = &self.text[self.at..];
        let run = |f: fn(char) -> bool| rest.find(|c| !f(c)).unwrap_or(rest.len());
        let (kind, n) = match first {
            c if c.is_alphabetic() || c == '_' => {
                (Kind::Name, run(|c| c.is_alphanumeric() || c == '_'))
            }
            '0'..='9' => (Kind::Number, run(|c| c.is_alphanumeric() || c == '_')),
            '"' | '\'' => (Kind::Text, quoted(rest, first)),
            c => (Kind::Mark, c.len_utf8()),
        };
        self.column += self.text[self.column_at..self.at].chars().count();
        self.column_at = self.at;
        let token =
            Token { kind, text: &rest[..n], line: self.line, column: self.column, at: self.at };
        for (k, _) in token.text.match_indices('\n') {
            self.begin_line(self.at + k + 1);
        }
        self.at += n;
        token
    }
}

/// The length of a string with its quotes; one that is not closed ends with its line.
fn quoted(rest: &str, quote: char) -> usize {
    let triple: String = [quote; 3].iter().collect();
    if rest.starts_with(&triple) {
        return rest[3..].find(&triple).map_or(rest.len(), |n| n + 6);
    }
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    line[1..].find(quote).map_or(line.len(), |n| n + 2)
}
