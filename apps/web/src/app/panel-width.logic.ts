const minPanel = 280
/** The minimum width in pixels that a panel leaves for the conversation and the session list together. */
const minRest = 680

/** Limits the width of a panel so that the panel and the conversation beside it both remain readable. */
export function panelWidthWithin(wanted: number, screen: number): number {
  return Math.round(Math.max(minPanel, Math.min(wanted, screen - minRest)))
}
