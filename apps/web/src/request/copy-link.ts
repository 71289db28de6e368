import { hasCode, type LinkDecision } from '@parley/protocol'
import { client } from '../base/client.ts'
import { copyText } from '../parts/copy-button.tsx'
import { toast, toastError } from '../parts/toasts.tsx'
import type { OpenPermission } from './choices.logic.ts'

/**
 * Creates a link that decides the request, and copies it. If the server does not let links allow calls, the link can
 * only deny.
 */
export async function copyLink(
  sessionId: string,
  { requestId, inputHash }: Pick<OpenPermission, 'requestId' | 'inputHash'>,
): Promise<void> {
  const create = (decisions: LinkDecision[]) =>
    client.call('createDecisionLink', {
      params: { id: sessionId },
      body: { requestId, inputHash, decisions },
    })
  try {
    const { url, decisions } = await create(['allow', 'deny']).catch((error: unknown) => {
      if (hasCode(error, 'not_supported')) return create(['deny'])
      throw error
    })
    await copyText(url, () => toast(`Link copied. ${noteOf(decisions)}`))
  } catch (error) {
    toastError(error)
  }
}

function noteOf(decisions: readonly LinkDecision[]): string {
  const what = decisions.includes('allow') ? 'allow or deny' : 'deny'
  return `Whoever opens it can ${what} this call, once, within an hour.`
}
