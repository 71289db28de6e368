import { registerHooks } from 'node:module'

/**
 * The real AI SDK of both generations. One of its packages keeps its TypeScript under the condition `source`, which is
 * the one our own packages are tested under, and which Node does not run from there: it is looked up without it.
 */
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.startsWith('eventsource-parser')
      ? next(specifier, { ...context, conditions: context.conditions.filter((one) => one !== 'source') })
      : next(specifier, context),
})

export const ai6 = await import('ai6')
export const ai7 = await import('ai7')
export const react6 = await import('ai-react6')
export const react7 = await import('ai-react7')
