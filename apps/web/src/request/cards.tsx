import { PermissionCard } from './permission-card.tsx'
import { QuestionCard } from './question-card.tsx'
import { UnsentAnswer } from './unsent-answer.tsx'

export default { PermissionCard, QuestionCard, UnsentAnswer }
