//! Digests: programs that are the same but for their names have the same.

use crate::language::program::Program;

impl Program {
    /// The first 12 bytes, in hex, of the BLAKE3 hash of the program's text without its name: equal programs of one
    /// dialect have equal digests.
    ///
    /// ```
    /// use swathe_arc::parse;
    /// let text = "def a(I):\n    x = vmirror(I)\n    return x\ndef b(I):\n    return vmirror(I)\ndef c(I):\n    return I\n";
    /// let programs = parse("mine.py", text).programs;
    /// assert_eq!(programs[0].digest(), programs[1].digest());
    /// assert_ne!(programs[0].digest(), programs[2].digest());
    /// ```
    pub fn digest(&self) -> String {
        let text = format!("{} {}", self.dialect.name(), self.definition("p"));
        blake3::hash(text.as_bytes()).to_hex()[..24].to_owned()
    }
}
