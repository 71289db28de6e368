import { registerHooks } from 'node:module'

/**
 * Needed only in a checkout, for examples with the AI SDK. One of its packages exports TypeScript under the condition
 * `source`, and Node does not run TypeScript from node_modules.
 * node --conditions=source --import ./examples/ai-sdk-in-checkout.ts examples/…
 */
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.startsWith('eventsource-parser')
      ? next(specifier, { ...context, conditions: context.conditions.filter((one) => one !== 'source') })
      : next(specifier, context),
})
