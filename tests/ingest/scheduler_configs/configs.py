"""Configuration files of four schedulers, small and as their documents write them."""

CAPACITY = """<?xml version="1.0"?>
<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>etl, adhoc</value></property>
  <property><name>yarn.scheduler.capacity.root.etl.queues</name><value>nightly,hourly</value></property>
  <property><name>yarn.scheduler.capacity.root.etl.capacity</name><value>75</value></property>
  <property><name>yarn.scheduler.capacity.root.etl.nightly.capacity</name><value>60</value></property>
  <property><name>yarn.scheduler.capacity.root.etl.hourly.capacity</name><value>40</value></property>
  <property><name>yarn.scheduler.capacity.root.etl.maximum-capacity</name><value>80</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.capacity</name><value>25</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.ordering-policy</name><value>fair</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.user-limit-factor</name><value>2.5</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.minimum-user-limit-percent</name><value>25</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.max-parallel-apps</name><value>7</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.acl_submit_applications</name><value>*</value></property>
  <property><name>yarn.scheduler.capacity.resource-calculator</name><value>x</value></property>
</configuration>
"""

FAIR = """<?xml version="1.0"?>
<allocations>
  <queue name="root">
    <queue name="etl">
      <weight>3.0</weight>
      <minResources>4096 mb, 4 vcores</minResources>
      <maxResources>memory-mb=8192, vcores=8</maxResources>
      <maxRunningApps>5</maxRunningApps>
      <schedulingPolicy>fifo</schedulingPolicy>
    </queue>
    <queue name="adhoc"><maxResources>50%</maxResources><aclSubmitApps>*</aclSubmitApps></queue>
  </queue>
  <queuePlacementPolicy><rule name="default"/></queuePlacementPolicy>
</allocations>
"""

YUNIKORN = """
partitions:
  - name: default
    placementrules: [{name: tag}]
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: etl
            resources:
              guaranteed: {memory: 8Gi, vcore: 8}
              max: {memory: 12Gi, vcore: 16}
          - name: adhoc
            maxapplications: 3
            properties: {application.sort.policy: fair}
"""

KUEUE = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: etl-cq}
spec:
  cohort: all
  preemption: {reclaimWithinCohort: Any}
  resourceGroups:
    - coveredResources: [cpu, memory]
      flavors:
        - name: default
          resources:
            - {name: cpu, nominalQuota: 6, borrowingLimit: 2}
            - {name: memory, nominalQuota: 8Gi, borrowingLimit: 8Gi}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: adhoc-cq}
spec:
  cohort: all
  stopPolicy: None
  resourceGroups:
    - flavors: [{name: default, resources: [{name: cpu, nominalQuota: 2000m}]}]
---
kind: LocalQueue
metadata: {name: etl, namespace: data}
spec: {clusterQueue: etl-cq}
"""
