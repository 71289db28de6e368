/** The remaining lifetime of a link as text, such as "works for 54 minutes". */
export function timeLeft(expiresAt: number, now: number): string {
  const minutes = Math.ceil((expiresAt - now) / 60_000)
  if (minutes <= 0) return 'expired'
  if (minutes === 1) return 'works for a minute'
  return minutes < 120 ? `works for ${minutes} minutes` : `works for ${Math.floor(minutes / 60)} hours`
}
