import type { CapabilityCases } from './capability-case.ts'
import { conversationCases } from './conversation-cases.ts'
import { inputCases } from './input-cases.ts'
import { outputCases } from './output-cases.ts'
import { requestCases } from './request-cases.ts'

/**
 * One case for each capability. To add a capability: name it in the protocol, describe its scenario in setup.ts, and
 * demonstrate it in one of the files imported here.
 */
export const capabilityCases: CapabilityCases = {
  ...outputCases,
  ...requestCases,
  ...inputCases,
  ...conversationCases,
}
