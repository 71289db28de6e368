import { CurrentTurn } from './current-turn.tsx'
import { CollapsedTurn } from './turn-line.tsx'

export default { CurrentTurn, CollapsedTurn }
