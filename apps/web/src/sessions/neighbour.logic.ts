/**
 * The row that gets the focus after the focused row has left its place: the row itself if it only moved in the list,
 * else the one after it, else the one before it. Undefined if no row is left.
 */
export function neighbourOf(
  gone: string,
  before: readonly string[],
  after: readonly string[],
): string | undefined {
  const place = before.indexOf(gone)
  const nearest = [gone, ...before.slice(place + 1), ...before.slice(0, Math.max(0, place)).toReversed()]
  return nearest.find((id) => after.includes(id)) ?? after[0]
}
