//! Tokens: what one has to know to look at a run from another machine.

use std::fs::File;
use std::io::{self, Read as _};

/// A secret of letters, digits and `-._~`, so that it can stand in an address and in a cookie as
/// it is.
pub(crate) struct Token(String);

/// Why a text is no token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TokenError {
    /// It could be guessed.
    TooShort { n_characters: usize },
    /// It would have to be escaped.
    Character { found: char },
}

impl Token {
    /// Less than this could be guessed.
    pub(crate) const N_CHARACTERS_MIN: usize = 16;

    pub(crate) fn parse(text: &str) -> Result<Token, TokenError> {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-._~".contains(*c);
        if let Some(found) = text.chars().find(|c| !is_plain(c)) {
            return Err(TokenError::Character { found });
        }
        match text.len() {
            n if n < Token::N_CHARACTERS_MIN => Err(TokenError::TooShort { n_characters: n }),
            _ => Ok(Token(text.to_owned())),
        }
    }

    /// A new one from the system's randomness: 192 bits.
    pub(crate) fn random() -> io::Result<Token> {
        let mut bytes = [0u8; 24];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Token(bytes.iter().map(|b| format!("{b:02x}")).collect()))
    }

    /// Whether somebody knows it. How long this takes does not depend on how much of it is right.
    pub(crate) fn is(&self, offered: &str) -> bool {
        let (own, offered) = (self.0.as_bytes(), offered.as_bytes());
        let mut difference = own.len() ^ offered.len();
        for (at, own) in own.iter().enumerate() {
            // Past the end of what is offered something is compared too, so that the length of
            // the token cannot be measured either.
            let offered = offered.get(at).copied().unwrap_or(0);
            difference = std::hint::black_box(difference | usize::from(own ^ offered));
        }
        difference == 0
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_plain() {
        for text in ["abcdefghijklmnop", "ABC-._~0123456789"] {
            assert!(Token::parse(text).is_ok(), "{text}");
        }
        assert_eq!(
            Token::parse("short").err(),
            Some(TokenError::TooShort { n_characters: 5 })
        );
        for (text, found) in [
            ("sixteen or more;", ' '),
            ("abcdefghijklmnop;Path=/", ';'),
            ("abcdefghijklmnöp", 'ö'),
            ("abcdefghijklmn%20", '%'),
        ] {
            let error = Token::parse(text).err();
            assert_eq!(error, Some(TokenError::Character { found }), "{text}");
        }
    }

    #[test]
    fn only_the_whole_token_is_right() {
        let token = Token::parse("abcdefghijklmnop").unwrap();
        assert!(token.is("abcdefghijklmnop"));
        for wrong in [
            "",
            "abcdefghijklmno",
            "abcdefghijklmnopq",
            "abcdefghijklmnoq",
            "Abcdefghijklmnop",
            "abcdefghijklmnop\0",
        ] {
            assert!(!token.is(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn random_tokens_are_tokens_and_differ() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert!(Token::parse(one.text()).is_ok());
        assert!(!one.is(other.text()));
    }
}
