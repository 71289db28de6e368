import type { AccountInfo } from '@anthropic-ai/claude-agent-sdk'

const clouds: Partial<Record<NonNullable<AccountInfo['apiProvider']>, string>> = {
  bedrock: 'Amazon Bedrock',
  vertex: 'Google Vertex AI',
  foundry: 'Microsoft Foundry',
  anthropicAws: 'Claude Platform on AWS',
  anthropicGoogleCloud: 'Claude Platform on Google Cloud',
  mantle: 'Amazon Bedrock',
  gateway: 'a gateway',
}

/** What pays, as the program tells it, without whose it is. Nothing if it does not tell. */
export function credentialOf(account: AccountInfo | undefined): string | undefined {
  const { apiProvider, apiKeySource, tokenSource, subscriptionType } = account ?? {}
  const cloud = apiProvider && clouds[apiProvider]
  if (cloud) return cloud
  if (isNamed(apiKeySource))
    return apiKeySource === '/login managed key' ? 'Claude Console key' : apiKeySource
  if (subscriptionType) return `${subscriptionType} sign-in`
  if (!isNamed(tokenSource)) return undefined
  return tokenSource === 'claude.ai' ? 'Claude sign-in' : tokenSource
}

function isNamed(source: string | undefined): source is string {
  return source !== undefined && source !== 'none' && source !== ''
}
