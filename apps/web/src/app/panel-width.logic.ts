const leastPanel = 280
/** The least width beside a panel, for the conversation and the session list together. */
const leastRest = 680

/** Limits a panel's width, so that both the panel and the conversation beside it stay readable. */
export function panelWidthWithin(wanted: number, screen: number): number {
  return Math.round(Math.max(leastPanel, Math.min(wanted, screen - leastRest)))
}
