# Hosts and job workers: the arguments are those of `millrace`, and without any it is a host. The function app needs no image.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:24-slim
WORKDIR /app
# An orchestrator asks its probes from outside of the container.
ENV NODE_ENV=production MILLRACE_PROBES_ADDRESS=0.0.0.0 MILLRACE_PIPELINE=dist/examples/storefront
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/bin ./bin
COPY --from=build /app/dist ./dist
USER node
EXPOSE 8081
# SIGTERM asks for a clean stop: leases are given back, and running jobs go back to the queue.
ENTRYPOINT ["node", "bin/millrace.mjs"]
CMD ["run", "--probes", "8081"]
