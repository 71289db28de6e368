import type { Provider } from '@opencode-ai/sdk/v2/client'
import type { Billing } from '@parley/protocol'

/** Cloud services, which are billed to an account of the cloud and not to the key of a provider. */
const clouds = /^(amazon-bedrock|google-vertex|azure|sap-ai-core)/
/** Providers that OpenCode signs in to with an account. Their source is then `custom`. */
const subscriptions = /^(openai|github-copilot)/

/** The billing of a provider's models, as far as it follows from where OpenCode found the credential. */
export function billingOf({
  id,
  source,
  key,
  options,
}: Omit<Provider, 'models' | 'name' | 'env'>): Billing | undefined {
  if (clouds.test(id)) return 'cloud'
  if (source === 'custom') return subscriptions.test(id) ? 'subscription' : undefined
  const isKey =
    source === 'api' || source === 'env' || (typeof options.apiKey === 'string' && options.apiKey !== '')
  return isKey || key !== undefined ? 'api-key' : undefined
}
