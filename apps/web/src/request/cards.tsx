import { PermissionCard } from './permission-card.tsx'
import { QuestionCard } from './question-card.tsx'

export default { PermissionCard, QuestionCard }
