import type { Me } from '@parley/protocol'
import { oneLine } from './terminal/visible.ts'

export function mayDecide({ scopes }: Pick<Me, 'scopes'>): boolean {
  return scopes.includes('decide')
}

/**
 * The text for a token that cannot answer a request. It ends with the address at which a person can answer.
 */
export function whoCanDecide(
  { name }: Pick<Me, 'name'>,
  { url, sessionId }: { readonly url: string; readonly sessionId: string },
): string {
  return `The token "${oneLine(name)}" cannot answer: it does not have the scope "decide". To answer, open this page in a browser that has it: ${url}/sessions/${sessionId}`
}
