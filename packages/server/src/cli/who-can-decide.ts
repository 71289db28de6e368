import type { Me } from '@parley/protocol'
import { oneLine } from './terminal/visible.ts'

export function mayDecide({ scopes }: Pick<Me, 'scopes'>): boolean {
  return scopes.includes('decide')
}

/** Says who can answer a request that the token may not answer, and where. Ends with the address. */
export function whoCanDecide(
  { name }: Pick<Me, 'name'>,
  { url, sessionId }: { readonly url: string; readonly sessionId: string },
): string {
  return `The token "${oneLine(name)}" cannot answer: it does not have the scope "decide". To answer, open this page in a browser that has it: ${url}/sessions/${sessionId}`
}
