import { StickyTurn } from './sticky-turn.tsx'
import { CollapsedTurn } from './turn-line.tsx'

export default { StickyTurn, CollapsedTurn }
