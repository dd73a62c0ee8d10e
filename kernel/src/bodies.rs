//! Placeholder until the branch of bodies lands.
pub enum Outcome { Done, Null, Odd }
pub struct Decoder {}
impl Decoder {
    pub fn new() -> Self { Decoder {} }
    pub fn append(&mut self, stored: &[u8], _sys_flag: i32, _at_most: usize, _out: &mut Vec<u8>) -> Outcome {
        if stored.is_empty() { return Outcome::Done; }
        Outcome::Odd
    }
}
