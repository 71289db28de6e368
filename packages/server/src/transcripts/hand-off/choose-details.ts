/** The levels of detail of a turn in a hand-off, from the most to the least text. */
export const details = ['whole', 'calls-counted', 'cut', 'one-line', 'left-out'] as const
export type Detail = (typeof details)[number]

export type TurnText = {
  text(detail: Detail): string
  /** True if the text at this level of detail is the complete text. */
  isWhole(detail: Detail): boolean
}

/**
 * Each step raises turns to a level of detail, newest first, while all turns together take at most this share of
 * `room`.
 */
const steps: readonly (readonly [detail: Detail, share: number])[] = [
  ['whole', 0.5],
  ['calls-counted', 0.75],
  ['cut', 0.9],
  ['one-line', 1],
  // These steps give the newer turns the room that the older turns did not need.
  ['whole', 1],
  ['calls-counted', 1],
  ['cut', 1],
]

/**
 * Chooses the level of detail of each turn, so that all texts together fit into `room` characters. Older turns get
 * less detail. The newest turn is complete, unless it alone exceeds the room; then it gets the highest level that
 * fits.
 */
export function chooseDetails(turns: readonly TurnText[], room: number): Detail[] {
  const told = turns.map((): Detail => 'left-out')
  const newest = turns.at(-1)
  if (!newest) return told
  let used = 0
  const tell = (index: number, detail: Detail, limit: number): boolean => {
    const turn = turns[index]!
    const grown = used + turn.text(detail).length - turn.text(told[index]!).length
    if (grown > limit) return false
    used = grown
    told[index] = detail
    return true
  }
  details.some((detail) => tell(turns.length - 1, detail, room))
  for (const [detail, share] of steps) {
    for (let index = turns.length - 2; index >= 0; index--) {
      const isTold = details.indexOf(told[index]!) <= details.indexOf(detail)
      if (!isTold && !tell(index, detail, share * room)) break
    }
  }
  return told
}
