const leastPanel = 280
/** What the conversation keeps beside a panel, the list of sessions included. */
const leastRest = 680

/** Neither so narrow that nothing can be read in it, nor so wide that nothing can be read beside it. */
export function panelWidthWithin(wanted: number, screen: number): number {
  return Math.round(Math.max(leastPanel, Math.min(wanted, screen - leastRest)))
}
