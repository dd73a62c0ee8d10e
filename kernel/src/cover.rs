//! Which blocks of the log claims cover exactly once, found without sorting the claims.
//!
//! Where one claim ends and another one starts, the number of claims over a byte does not change. So if the starts and ends in a block
//! are at equal positions, each as often, and one claim reaches into the block, then exactly one claim is over each of its bytes. Sums of
//! hashes compare the positions: those of starts are added, those of ends subtracted. The hash has a random seed, so no store can be
//! written for which a sum is 0 by more than chance, which is 2^-64 a block.

use std::hash::{BuildHasher, RandomState};

/// From the first position of a claim to the one after its last.
pub type Span = (u64, u64);

/// On average at least this many claims a block, and at most this many blocks: they fit in the second cache.
const CLAIMS: usize = 8;
const MOST: usize = 1 << 16;

/// Of one block: hashes and number of the claims that start there, minus those of the claims that end there.
#[derive(Clone, Copy, Default)]
struct Balance {
    hashes: u64,
    claims: i64,
}

/// Blocks of equal size, from a first position on.
pub struct Blocks {
    first: u64,
    bound: u64,
    /// The largest end of a claim.
    end: u64,
    shift: u32,
    seed: u64,
    balances: Vec<Balance>,
}

impl Blocks {
    /// For that many claims in `[first, bound)`. None: no claim is in it.
    pub fn new(first: u64, bound: u64, claims: usize) -> Option<Self> {
        let last = bound.checked_sub(first)?.checked_sub(1)?;
        let most = (claims / CLAIMS).clamp(1, MOST) as u64;
        let shift = (0..u64::BITS).find(|&shift| last >> shift < most)?;
        let balances = vec![Balance::default(); usize::try_from(last >> shift).ok()?.checked_add(1)?];
        let mut blocks = Blocks { first, bound, end: first, shift, seed: RandomState::new().hash_one(0), balances };
        blocks.count(0, blocks.hash(first).wrapping_neg(), -1); // as if a claim ended there
        Some(blocks)
    }

    /// Adds a claim. False if it is not in `[first, bound)`.
    pub fn add(&mut self, (start, end): Span) -> bool {
        if start < self.first || end > self.bound || end <= start {
            return false;
        }
        self.end = self.end.max(end);
        let (starts_in, ends_in) = (self.block(start), self.block(end));
        let (added, taken) = (self.hash(start), self.hash(end));
        if starts_in == ends_in {
            self.count(starts_in, added.wrapping_sub(taken), 0);
        } else {
            self.count(starts_in, added, 1);
            self.count(ends_in, taken.wrapping_neg(), -1);
        }
        true
    }

    fn count(&mut self, block: usize, hashes: u64, claims: i64) {
        if let Some(balance) = self.balances.get_mut(block) {
            balance.hashes = balance.hashes.wrapping_add(hashes);
            balance.claims = balance.claims.wrapping_add(claims);
        }
    }

    fn block(&self, position: u64) -> usize {
        (position.wrapping_sub(self.first) >> self.shift) as usize
    }

    fn hash(&self, position: u64) -> u64 {
        let mixed = (position ^ self.seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        mixed ^ (mixed >> 32)
    }
}

/// Which blocks have exactly one claim over each byte.
pub struct Cover {
    blocks: Blocks,
    /// For each block and the end: how many blocks before it are not covered so.
    others: Vec<usize>,
}

impl Cover {
    pub fn of(mut blocks: Blocks) -> Self {
        blocks.count(blocks.block(blocks.end), blocks.hash(blocks.end), 1); // as if a claim started there
        let mut others = Vec::with_capacity(blocks.balances.len().saturating_add(1));
        let (mut total, mut depth) = (0_usize, 1_i64);
        for balance in &blocks.balances {
            others.push(total);
            let is_covered = depth == 1 && balance.claims == 0 && balance.hashes == 0;
            total = total.saturating_add(usize::from(!is_covered));
            depth = depth.wrapping_add(balance.claims);
        }
        others.push(total);
        Cover { blocks, others }
    }

    /// A number for the covered blocks that this claim is in: the same for all that follow each other. None if another block is among them.
    fn run(&self, (start, end): Span) -> Option<usize> {
        let before = *self.others.get(self.blocks.block(start))?;
        let after = *self.others.get(self.blocks.block(end.wrapping_sub(1)).wrapping_add(1))?;
        (before == after).then_some(before)
    }

    /// Whether each block is covered so: claims follow each other from the first position to the last end.
    pub fn is_whole(&self) -> bool {
        self.runs() == 1
    }

    /// How many numbers `run` has.
    fn runs(&self) -> usize {
        self.others.last().map_or(0, |others| others.saturating_add(1))
    }
}

/// What claims cover that no other claim overlaps.
pub struct Covered<'a> {
    cover: &'a Cover,
    /// For each run: from the first position of such a claim to the last one's end.
    spans: Vec<Span>,
}

impl<'a> Covered<'a> {
    pub fn of(cover: &'a Cover) -> Self {
        let whole = (cover.blocks.first, cover.blocks.end);
        Covered { cover, spans: if cover.is_whole() { vec![whole] } else { vec![(u64::MAX, 0); cover.runs()] } }
    }

    /// Whether no other claim overlaps this one.
    pub fn has(&mut self, (start, end): Span) -> bool {
        let Some(span) = self.cover.run((start, end)).and_then(|run| self.spans.get_mut(run)) else { return false };
        *span = (span.0.min(start), span.1.max(end));
        true
    }

    /// Ascending.
    pub fn spans(self) -> impl Iterator<Item = Span> {
        self.spans.into_iter().filter(|(start, end)| start < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of blocks with 32 bytes. `claims` end at 900; many more follow.
    fn runs(claims: &[Span]) -> Vec<Option<usize>> {
        let mut blocks = Blocks::new(0, 2048, 64 * CLAIMS).unwrap();
        assert!([(900, 1000), (1000, 2048)].iter().chain(claims).all(|&claim| blocks.add(claim)));
        let cover = Cover::of(blocks);
        claims.iter().map(|&claim| cover.run(claim)).collect()
    }

    #[test]
    fn claims_that_follow_each_other_cover_their_blocks() {
        assert_eq!(runs(&[(500, 900), (0, 200), (200, 500)]), [Some(0); 3]);
        let mut blocks = Blocks::new(5, 20, 9).unwrap();
        assert!(!blocks.add((4, 9)), "before the first position");
        assert!(!blocks.add((5, 21)), "after the bound");
        assert!(!blocks.add((9, 9)), "without a byte");
        assert!(blocks.add((5, 9)));
        let cover = Cover::of(blocks);
        assert!(cover.is_whole());
        assert_eq!(Covered::of(&cover).spans().collect::<Vec<_>>(), [(5, 9)]);
        assert!(Blocks::new(6, 6, 1).is_none());
    }

    #[test]
    fn a_free_byte_before_the_first_claim_is_not_covered() {
        let mut blocks = Blocks::new(4, 20, 9).unwrap();
        assert!(blocks.add((5, 9)));
        let cover = Cover::of(blocks);
        assert_eq!((cover.is_whole(), cover.run((5, 9))), (false, None));
    }

    #[test]
    fn gaps_overlaps_and_repeats_are_not_covered() {
        assert_eq!(runs(&[(0, 64), (64, 96), (100, 160), (160, 900)]), [Some(0), Some(0), None, Some(1)]);
        assert_eq!(runs(&[(0, 64), (64, 100), (96, 160), (160, 900)]), [Some(0), None, None, Some(1)]);
        assert_eq!(runs(&[(0, 64), (64, 100), (64, 100), (100, 160), (160, 900)]), [Some(0), None, None, None, Some(2)]);
        assert_eq!(runs(&[(0, 900), (64, 100), (100, 128)]), [None, None, None], "what lies over others is not covered");
    }
}
